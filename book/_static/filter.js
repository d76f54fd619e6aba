// A box that leaves of a page's tables and definitions those that contain what is typed into it.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector(".jc-filter");
  if (!place) return;
  const entries = [...document.querySelectorAll("article tbody tr")].map((row) => [row]);
  let terms = [];
  document.querySelectorAll("article dl.glossary > *").forEach((one) => {
    terms.push(one);
    if (one.tagName !== "DD") return;
    entries.push(terms);
    terms = [];
  });
  // Formulas are read before they are set, so that "sigma" finds its letter.
  const texts = entries.map((parts) => parts.map((one) => one.textContent).join(" ").toLowerCase());
  const label = document.createElement("label");
  const box = Object.assign(document.createElement("input"), { type: "search" });
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  label.append(place.dataset.say, box);
  place.append(label, told);
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLowerCase();
    const found = texts.map((text) => text.includes(wanted));
    entries.forEach((parts, k) => parts.forEach((one) => (one.hidden = !found[k])));
    told.textContent = wanted ? `${found.filter(Boolean).length} of ${entries.length}` : "";
  });
});
