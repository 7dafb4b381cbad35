
"use strict";
// Without this script everything is there but the filters.
const form = document.getElementById("filters");
const words = document.getElementById("words");
const verdict = document.getElementById("verdict");
const unfold = document.getElementById("unfold");
const cards = [...document.querySelectorAll(".card")];
const changes = [...document.querySelectorAll(".change")].map((element) => ({
  element,
  // The name of its method or definition counts, though it is written only once.
  text: (element.closest(".card").querySelector(".subject").textContent + " " + element.textContent).toLowerCase(),
  breaks: element.dataset.breaks.split(" ").filter(Boolean),
}));

function wanted(change, terms, kind) {
  if (kind === "none" && change.breaks.length) return false;
  if (kind === "breaking" && !change.breaks.length) return false;
  if ((kind === "server" || kind === "client") && !change.breaks.includes(kind)) return false;
  return terms.every((term) => change.text.includes(term));
}

function filter() {
  const terms = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const change of changes) {
    const visible = wanted(change, terms, verdict.value);
    change.element.hidden = !visible;
    shown += visible;
  }
  for (const box of document.querySelectorAll(".card, .group"))
    box.hidden = !box.querySelector(".change:not([hidden])");
  document.getElementById("shown").textContent = `${shown} of ${changes.length} changes`;
}

unfold.addEventListener("click", () => {
  const open = cards.some((card) => !card.open);
  for (const card of cards) card.open = open;
  unfold.textContent = open ? "Fold all" : "Expand all";
});
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", filter);
form.hidden = false;
filter();
