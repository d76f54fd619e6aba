// Another dialogue writes its answers into the cells of the one that is shown.
document.addEventListener("change", (event) => {
  const box = event.target.matches?.(".dialogues select") && event.target.closest(".dialogues");
  if (!box) return;
  const values = JSON.parse(box.querySelector("script").textContent)[Number(event.target.value)];
  box.querySelectorAll("td[data-at]").forEach((cell, k) => {
    cell.textContent = values[k];
    if (cell.matches(".p")) cell.style.setProperty("--p", values[k]);
  });
});
