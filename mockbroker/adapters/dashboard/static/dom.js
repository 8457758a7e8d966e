// Elements without HTML: whatever a client can name gets onto the page as text, by textContent and setAttribute.

/**
 * An element with attributes and children. Strings become text; null and false are left out.
 * A function under a name like "onclick" listens to that event.
 */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else setAttribute(node, name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Set an attribute where it differs; null, undefined and false take it away. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/** Set an element's text where it differs. */
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/** A length of the layout; by the object model, which the content security policy allows and markup would not. */
export function setStyle(node, property, value) {
  if (node.style.getPropertyValue(property) !== value) node.style.setProperty(property, value);
}

const ROWS = Symbol("rows");

/**
 * Have a parent's children be those of the items, in their order; what is there already stays and is updated.
 *
 * @param keyOf item -> what it is known by
 * @param create item -> {node, ...}: its element, and whatever update needs
 * @param update (row, item) -> void
 */
export function reconcile(parent, items, keyOf, create, update) {
  const rows = (parent[ROWS] ??= new Map());
  const keys = new Set(items.map(keyOf));
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  for (const [key, row] of rows) {
    if (keys.has(key)) continue;
    row.node.remove();
    rows.delete(key);
  }
  let next = parent.firstChild;
  for (const item of items) {
    const key = keyOf(item);
    let row = rows.get(key);
    if (row === undefined) rows.set(key, (row = create(item)));
    update(row, item);
    if (row.node === next) next = next.nextSibling;
    else parent.insertBefore(row.node, next);
  }
  if (focused !== null && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

/** The element with an id; the page has it, or the page is wrong. */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`expected an element with the id ${id}, got none`);
  return node;
}

/** Words for screen readers, which the eye has from the place that they stand in. */
export function unseen(text) {
  return make("span", { class: "unseen" }, text);
}
