// A click or Enter on a heading sorts a table by that column; what is no number stays last.
document.addEventListener("click", (event) => {
  const head = event.target.closest(".sortable th button")?.closest("th");
  if (!head) return;
  const body = head.closest("table").tBodies[0];
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const th of head.parentNode.cells) th.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = (row) => {
    const cell = row.cells[head.cellIndex];
    const value = cell.dataset.sort ?? cell.textContent;
    const number = parseFloat(value.replace("−", "-"));
    return Number.isNaN(number) ? value : number;
  };
  const compare = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
    return (x < y ? -1 : Number(x > y)) * (up ? 1 : -1);
  };
  body.append(...[...body.rows].sort(compare));
});
