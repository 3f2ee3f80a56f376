"use strict";
const byId = (id) => document.getElementById(id), key = "edos-audit-" + document.body.dataset.key;
function stored() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch (error) { return {}; /* no storage: judgements last as long as the page */ }
}
function keep(judgements) {
  try { localStorage.setItem(key, JSON.stringify(judgements)); } catch (error) { /* as above */ }
}
function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 1)], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
