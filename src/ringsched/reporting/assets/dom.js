// Creates elements. Text is always set as text and never parsed, because names come from untrusted files.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Return a new HTML element; children are nodes or strings. */
export function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return a new SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

let lastNumber = 0;

/** Return an id that no other element of the page has. */
export function freshId(prefix) {
  lastNumber += 1;
  return `${prefix}-${lastNumber}`;
}

/** Return the available width of a picture in this element, in pixels. */
export function widthOf(element) {
  return Math.max(280, Math.floor(element.clientWidth || 900));
}
