// A chapter's head counts its questions that the reader has answered: "3 of 5 predicted". Each explorer says of itself
// how it stands with its question, and when that changes.
const place = document.querySelector(".place");
const predicted = document.createElement("span");
predicted.className = "predicted";
place?.append(predicted);
function count() {
  const asked = document.querySelectorAll("attention-explorer[data-prediction]").length;
  const guessed = document.querySelectorAll('attention-explorer[data-prediction="guessed"]').length;
  predicted.textContent = asked ? ` · ${guessed} of ${asked} predicted` : "";
}
count();
document.addEventListener("attention-predicted", count);
