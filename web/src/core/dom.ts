/** Elements without a framework: text is always text, never markup. */

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

/** An element: `on…` are listeners, `class` and others attributes; `false` and `null` are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props | null = null,
  ...children: (Child | Child[])[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2).toLowerCase(), value as EventListener);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(parent: Node, children: (Child | Child[])[]): void {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function replace(parent: HTMLElement, ...children: (Child | Child[])[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Says something to screen readers, and shows it for a moment. */
export function announce(text: string): void {
  let box = document.getElementById("announce");
  if (!box) {
    box = h("div", { id: "announce", role: "status", "aria-live": "polite" });
    document.body.appendChild(box);
  }
  box.textContent = text;
  box.classList.add("shown");
  window.setTimeout(() => box.classList.remove("shown"), 2500);
}
