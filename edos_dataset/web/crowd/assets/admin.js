// The live page of a batch.
const byId = (id) => document.getElementById(id);
const minutes = (seconds) => (seconds === null ? "–" : (seconds / 60).toFixed(1) + " min"), share = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));
function figure(name, value) {
  const box = document.createElement("div"), term = document.createElement("dt"), told = document.createElement("dd");
  term.textContent = name;
  told.textContent = value;
  box.append(term, told);
  return box;
}
function row(cells) {
  const made = document.createElement("tr");
  for (const text of cells) made.insertCell().textContent = text;
  return made;
}
async function refresh() {
  let told;
  try {
    const response = await fetch("/admin/progress", { credentials: "same-origin" });
    if (response.status === 403) return window.location.reload();
    told = await response.json();
  } catch (error) { byId("at").textContent = "The server does not answer."; return; }
  const agreement = told.agreement || {};
  byId("done").max = told.wanted;
  byId("done").value = told.assignments;
  byId("figures").replaceChildren(
    figure("HITs that are done", told.done + " of " + told.hits), figure("assignments handed in", told.assignments + " of " + told.wanted), figure("being worked on", told.open), figure("left lying", told.left),
    figure("answers", told.answers), figure("answered by two or more", agreement.tasks || 0), figure("pairs that agree", share(agreement.pairwise_agreement)), figure("Fleiss’ kappa", share(agreement.fleiss_kappa)),
    figure("a HIT takes (median)", minutes(told.seconds)), figure("cost so far", told.cost.toFixed(2) + " US$"), figure("bonuses in it", told.bonuses),
  );
  byId("workers").replaceChildren(...told.workers.map((one) => row([one.worker, one.hits, one.answers, one.points + " of " + one.of, minutes(one.seconds), new Date(1000 * one.seen).toLocaleTimeString()])));
  byId("at").textContent = "Now: " + new Date().toLocaleTimeString();
}
refresh();
setInterval(refresh, 5000);
