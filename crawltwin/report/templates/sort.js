"use strict";
// Tables sort by the button in a column's head: first rising, then falling. Works with the keyboard, says aria-sort.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const numeric = head.dataset.kind === "number";
      const compare = (left, right) => {
        const a = key(left), b = key(right);
        // Missing values stay at the end, whichever way the rest is turned.
        if (a === "" || b === "") return (a === "") - (b === "");
        const order = numeric && !isNaN(a) && !isNaN(b) ? Number(a) - Number(b) : a.localeCompare(b, "en", { numeric: true });
        return falling ? -order : order;
      };
      body.append(...[...body.rows].sort(compare));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    });
  });
}
