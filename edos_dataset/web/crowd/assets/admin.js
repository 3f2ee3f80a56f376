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
const flag = (one) => (one.verdict === "keep" ? "" : (one.verdict === "discard" ? "⚑ discard: " : "stop: ") + one.reason);
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
    figure("HITs that are done", told.done + " of " + told.hits), figure("assignments handed in", told.assignments + " of " + told.wanted), figure("being worked on", told.open), figure("abandoned", told.left),
    figure("answers", told.answers), figure("answered by two or more", agreement.tasks || 0), figure("pairs that agree", share(agreement.pairwise_agreement)), figure("Fleiss’ kappa", share(agreement.fleiss_kappa)),
    figure("a HIT takes (median)", minutes(told.seconds)), figure("cost so far", told.cost.toFixed(2) + " US$"), figure("bonuses in it", told.bonuses),
  );
  byId("workers").replaceChildren(...told.workers.map((one) => row([one.worker, flag(one), one.hits, one.answers, one.points + " of " + one.of, minutes(one.seconds), one.item_seconds === null ? "–" : one.item_seconds.toFixed(1) + " s", share(one.agreement), new Date(1000 * one.seen).toLocaleTimeString()])));
  for (const made of byId("workers").rows) made.cells[1].className = "flag";
  const labels = Object.entries(told.labels).sort(([, one], [, other]) => (one.agreement ?? 2) - (other.agreement ?? 2));
  byId("labels").replaceChildren(...labels.map(([name, one]) => row([name, one.answers, share(one.agreement), share(one.fleiss_kappa)])));
  const people = told.people, absent = people.absent;
  byId("came").textContent = people.invited + " invited, " + people.consented + " agreed to take part, " + people.begun + " have begun." + (absent.length ? " Not begun yet: " + absent.slice(0, 50).join(", ") + (absent.length > 50 ? " and " + (absent.length - 50) + " more." : ".") : "");
  byId("at").textContent = "Now: " + new Date().toLocaleTimeString();
}
refresh();
setInterval(refresh, 5000);
