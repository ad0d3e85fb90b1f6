// A chapter's head counts its questions that the reader has answered: "3 of 5 predicted". Each explorer says of itself how
// it stands with its question, and when that changes.
addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".place");
  const count = () => {
    const asked = [...document.querySelectorAll("attention-explorer[data-prediction]")];
    if (!place || !asked.length) return;
    const guessed = asked.filter((explorer) => explorer.dataset.prediction === "guessed").length;
    const said = place.querySelector(".predicted") ?? place.appendChild(document.createElement("span"));
    said.className = "predicted";
    said.textContent = ` · ${guessed} of ${asked.length} predicted`;
  };
  count();
  document.addEventListener("attention-predicted", count);
});
