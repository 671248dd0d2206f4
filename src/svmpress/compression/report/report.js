"use strict";
// Without this, all sizes stand below each other. With it, a slider or a click on the curve shows one of them.
(() => {
  const sections = [...document.querySelectorAll("section.size")];
  const slider = document.querySelector(".slider");
  if (!slider || sections.length < 2) return;
  const input = slider.querySelector("input");
  const output = slider.querySelector("output");
  const marks = [...document.querySelectorAll(".mark")];
  const show = (chosen) => {
    sections.forEach((section, i) => { section.hidden = i !== chosen; });
    marks.forEach((mark) => mark.classList.toggle("chosen", Number(mark.dataset.size) === chosen));
    output.textContent = sections[chosen].dataset.name;
    input.setAttribute("aria-valuetext", sections[chosen].dataset.name);
  };
  input.addEventListener("input", () => show(Number(input.value)));
  marks.forEach((mark) => mark.addEventListener("click", () => {
    input.value = mark.dataset.size;
    show(Number(mark.dataset.size));
  }));
  slider.hidden = false;
  document.body.classList.add("live");
  show(Number(input.value));
})();
