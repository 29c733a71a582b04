// What the user is at stays where it is on the screen, whatever gets higher or lower above it.

/** Do something that changes heights; of `elements` the one under the pointer, or with the keyboard, does not move. */
export function steadily(elements, act) {
  const held = elements.find((each) => each.matches(":hover")) ?? elements.find((each) => each.contains(document.activeElement));
  const before = held?.getBoundingClientRect().top;
  act();
  if (held) window.scrollBy({ top: held.getBoundingClientRect().top - before, behavior: "instant" });
}
