/** What is shown is in the address' fragment: a view can be linked to, and "back" goes back. */

export class State {
  private values: URLSearchParams;
  private listeners: (() => void)[] = [];
  page: string;

  constructor(hash: string) {
    [this.page, this.values] = parse(hash);
    window.addEventListener("hashchange", () => {
      [this.page, this.values] = parse(location.hash);
      this.tell();
    });
  }

  get(name: string): string | null {
    return this.values.get(name);
  }

  number(name: string, otherwise: number): number {
    const value = Number(this.values.get(name) ?? NaN);
    return Number.isInteger(value) ? value : otherwise;
  }

  list(name: string): string[] {
    return (this.values.get(name) ?? "").split(",").filter((s) => s !== "");
  }

  /** Changes values (null removes) and tells the page. */
  set(changes: Record<string, string | number | null>, page = this.page): void {
    this.page = page;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "") this.values.delete(name);
      else this.values.set(name, String(value));
    }
    history.replaceState(null, "", this.link(this.page));
    this.tell();
  }

  /** The address of a page with all that was chosen so far: who narrowed candidates down sees the same ones there. */
  link(page: string): string {
    const query = this.values.toString();
    return `#/${page}${query ? `?${query}` : ""}`;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

export function parse(hash: string): [string, URLSearchParams] {
  const [page = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return [page, new URLSearchParams(query)];
}
