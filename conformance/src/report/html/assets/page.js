"use strict";
// A frame is displayed in one line. When its element is opened, it is formatted over several
// lines.
document.addEventListener("toggle", (event) => {
  const details = event.target;
  if (!details.open || !details.classList.contains("frame")) return;
  const text = details.querySelector("pre");
  if (text.dataset.laidOut) return;
  text.dataset.laidOut = "1";
  try {
    text.textContent = JSON.stringify(JSON.parse(text.textContent), null, 2);
  } catch {
    // The text is not JSON, so it stays unchanged.
  }
}, true);

// Opens the collapsed elements around the target of a link.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
  target?.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", openTarget);
openTarget();

const search = document.getElementById("search");
const nothing = document.getElementById("nothing");
const cases = [...document.querySelectorAll(".case")];
const texts = cases.map((one) => (one.querySelector("summary").textContent + " " + one.dataset.covers).toLowerCase());
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  cases.forEach((one, at) => { one.hidden = !words.every((word) => texts[at].includes(word)); });
  nothing.hidden = cases.some((one) => one.offsetParent !== null);
}
search.hidden = false;
search.addEventListener("input", filter);
for (const radio of document.querySelectorAll('input[name="view"]')) radio.addEventListener("change", filter);
addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) {
    event.preventDefault();
    search.focus();
  }
});
