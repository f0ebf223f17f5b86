/** What is folded away is opened for paper, and folded again after it. */

/** These are not printed at all: the tables behind plots, and the list that trials are chosen from. */
const NOT_PRINTED = ":not(.behind):not(.trial-list)";

export function openForPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    const shut = [...document.querySelectorAll<HTMLDetailsElement>(`details:not([open])${NOT_PRINTED}`)];
    shut.forEach((details) => { details.open = true; });
    opened = [...opened, ...shut];
  });
  window.addEventListener("afterprint", () => {
    opened.forEach((details) => { details.open = false; });
    opened = [];
  });
}
