// "Did you stumble?" quotes what the reader has selected. A press of the mouse takes the selection away, so look before.
addEventListener("DOMContentLoaded", () => {
  const link = document.querySelector(".stumbled a");
  const form = link?.href;
  for (const press of ["pointerdown", "keydown"]) {
    link?.addEventListener(press, () => {
      const asked = new URL(form);
      const sentence = getSelection().toString().trim().slice(0, 1000);
      if (sentence) asked.searchParams.set("sentence", sentence);
      link.href = asked.href;
    });
  }
});
