// The language of the page: chosen, and loaded anew.
const language = document.getElementById("language");
language.addEventListener("change", () => language.form.submit());
