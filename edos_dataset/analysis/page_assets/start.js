// The page, put together; its colours, light or dark, as the reader's system has them until a button says otherwise.
const system = matchMedia("(prefers-color-scheme: dark)");
const button = document.getElementById("theme");
let chosen = null;

function lighten() {
  const dark = chosen ?? system.matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  button.setAttribute("aria-pressed", String(dark));
}

document.title = `${first.name}: what the data look like`;
document.getElementById("title").textContent = first.name;
document.getElementById("lead").textContent = [
  `${plural(first.sizes.dialogues, "dialogue")}, ${plural(first.sizes.turns, "turn")}`,
  first.revision ? `revision ${first.revision}` : null,
  others.length ? `beside ${others.map((one) => one.name).join(", ")}` : null,
].filter(Boolean).join(" · ");
document.getElementById("made").textContent = `Made by ${figures.made_by}, edos report.`;
document.documentElement.dataset.theme = system.matches ? "dark" : "light";

sizesSection();
labelsSection();
divergenceSection();
flowSection();
transitionsSection();
surenessSection();
filmsSection();
wordsSection();
rejectedSection();
copiesSection();
doubtfulSection();
const readHash = browserSection();
mattersSection();
lighten();
button.addEventListener("click", () => { chosen = !(chosen ?? system.matches); lighten(); });
system.addEventListener("change", lighten);
readHash();
document.documentElement.dataset.ready = "yes";
