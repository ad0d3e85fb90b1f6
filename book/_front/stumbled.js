// "Did you stumble?" quotes what the reader has selected. A press takes the selection away, so it is read before.
const link = document.querySelector(".stumbled a");
const form = link?.href;
for (const press of ["pointerdown", "keydown"]) {
  link?.addEventListener(press, () => {
    const sentence = getSelection().toString().trim().slice(0, 1000);
    link.href = sentence ? `${form}&${new URLSearchParams({ sentence })}` : form;
  });
}
