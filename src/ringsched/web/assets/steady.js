// Keeps the element in use at its place on the screen when content above it changes its height.

/** Run a function that changes heights; the one of `elements` with the pointer or the focus does not move. */
export function steadily(elements, act) {
  const held = elements.find((each) => each.matches(":hover")) ?? elements.find((each) => each.contains(document.activeElement));
  const before = held?.getBoundingClientRect().top;
  act();
  if (held) window.scrollBy({ top: held.getBoundingClientRect().top - before, behavior: "instant" });
}
