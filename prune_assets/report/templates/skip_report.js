const detail = document.getElementById("detail");
const show = (event) => {
  const cell = event.target.closest("g");
  const title = cell && cell.querySelector("title");
  if (title) detail.textContent = title.textContent;
};
for (const map of document.querySelectorAll(".map")) {
  map.addEventListener("pointerover", show);
  map.addEventListener("click", show);
}
