// The page after a task: copies the code.
const byId = (id) => document.getElementById(id);
byId("copy").addEventListener("click", async () => {
  const field = byId("code");
  field.select();
  let copied = false;
  try { await navigator.clipboard.writeText(field.value); copied = true; } catch (error) { copied = document.execCommand("copy"); } // no clipboard without HTTPS
  byId("told").textContent = copied ? "Copied." : "Press Ctrl and C to copy it.";
});
