const detail = document.getElementById("detail");
const tip = document.getElementById("tip");
const chosen = "on";
for (const map of document.querySelectorAll(".map")) {
  const cells = [...map.querySelectorAll("g")];
  const words = new Map();
  let current = -1;
  for (const cell of cells) {
    const title = cell.querySelector("title");
    words.set(cell, title.textContent);
    // This tip appears sooner than the tooltip of the browser, and follows the pointer.
    title.remove();
  }
  const mark = (number) => {
    if (current >= 0) cells[current].classList.remove(chosen);
    current = number;
    if (current < 0) return;
    cells[current].classList.add(chosen);
    detail.textContent = words.get(cells[current]);
  };
  const follow = (event) => {
    const cell = event.target.closest("g");
    tip.hidden = !cell || event.pointerType === "touch";
    if (!cell) return;
    const number = cells.indexOf(cell);
    if (number !== current) mark(number);
    if (tip.hidden) return;
    if (tip.textContent !== words.get(cell)) tip.textContent = words.get(cell);
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const y = below + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
    tip.style.left = `${Math.max(x, 8)}px`;
    tip.style.top = `${Math.max(y, 8)}px`;
  };
  map.addEventListener("pointermove", follow);
  map.addEventListener("pointerdown", follow);
  map.addEventListener("pointerleave", () => { tip.hidden = true; });
  const line = Number(map.dataset.line) || 1;
  map.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: line, ArrowUp: -line }[event.key];
    let next = current + (step || 0);
    if (event.key === "Home") next = 0;
    else if (event.key === "End") next = cells.length - 1;
    else if (event.key === "Escape") { tip.hidden = true; return; }
    else if (!step) return;
    event.preventDefault();
    mark(Math.max(0, Math.min(next, cells.length - 1)));
  });
}
