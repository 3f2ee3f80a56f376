// The page after a task: copies the code.
const byId = (id) => document.getElementById(id), texts = JSON.parse(document.querySelector("meta[name=texts]").content);
byId("copy").addEventListener("click", async () => {
  const field = byId("code");
  field.select();
  let copied = false;
  try { await navigator.clipboard.writeText(field.value); copied = true; } catch (error) { copied = document.execCommand("copy"); } // no clipboard without HTTPS
  byId("told").textContent = texts[copied ? "done_copied" : "done_copy_by_keys"];
});
