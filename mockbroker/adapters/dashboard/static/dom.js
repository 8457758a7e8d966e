// Elements without HTML: names that clients choose reach the page as text alone. Views describe what they show, and
// `draw` changes what differs: an element that stays keeps its focus, its scrolling and its selection.

/**
 * A description of an element.
 *
 * @param attributes text, numbers, true; null and false for none. A function listens ("onclick"), `style` holds CSS
 *   properties, and `key` finds the element again when its place among its neighbours changes.
 */
export function h(tag, attributes, ...children) {
  return { tag, attributes: attributes ?? {}, children };
}

/** Make a parent's children what is described: elements, lists of them and texts; null, false and "" are left out. */
export function draw(parent, ...children) {
  const wanted = children.flat(Infinity).filter((one) => one === 0 || Boolean(one));
  const keys = new Set(wanted.map(keyOf));
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    if (node.drawnKey === undefined) continue;
    if (keys.has(node.drawnKey)) keyed.set(node.drawnKey, node);
    else node.remove();
  }
  let next = parent.firstChild;
  for (const one of wanted) {
    let node = keyed.get(keyOf(one)) ?? next;
    if (!isOfKind(node, one)) node = one.tag ? document.createElement(one.tag) : document.createTextNode("");
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
    update(node, one);
  }
  while (next !== null && parent.lastChild !== next) parent.lastChild.remove();
  next?.remove();
}

const keyOf = (one) => one.attributes?.key;

function isOfKind(node, one) {
  return node !== null && node.nodeName.toLowerCase() === (one.tag ?? "#text") && node.drawnKey === keyOf(one);
}

function update(node, one) {
  if (one.tag === undefined) {
    if (node.data !== String(one)) node.data = one;
    return;
  }
  const { key, style, ...attributes } = one.attributes;
  for (const name of Object.keys(node.drawnAttributes ?? {})) if (!(name in attributes)) setAttribute(node, name, null);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  for (const [name, value] of Object.entries(style ?? {})) setStyle(node, name, value);
  node.drawnAttributes = attributes;
  node.drawnKey = key;
  draw(node, one.children);
}

/** Set an attribute where it differs; null, undefined and false remove it, a function listens. */
export function setAttribute(node, name, value) {
  if (name.startsWith("on")) {
    node[name] = value ?? null;
  } else if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const text = value === true ? "" : String(value);
    if (node.getAttribute(name) !== text) node.setAttribute(name, text);
  }
}

/** Set a CSS property by the object model, which the content security policy allows and markup would not. */
export function setStyle(node, property, value) {
  if (node.style.getPropertyValue(property) !== value) node.style.setProperty(property, value);
}

export function setText(node, text) {
  if (node.textContent !== String(text)) node.textContent = text;
}

/** The element with an id. Raises Error: the page lacks it. */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`expected an element with the id ${id}, got none`);
  return node;
}
