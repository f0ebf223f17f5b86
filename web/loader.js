// Runs the page's program, and before it unpacks its data where they are packed: text in zlib in base64. The program is
// packed, too, or a file of the site.
(async () => {
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };
  const data = document.getElementById("data");
  if (data.type === "text/plain") data.textContent = await unpacked("data");
  const script = document.createElement("script");
  const { href } = document.getElementById("program");
  if (href) {
    script.src = href;
    script.onerror = () => { document.getElementById("app").textContent = `This page's program, ${href}, did not load: load the page again while its server runs.`; };
  } else script.textContent = await unpacked("program");
  document.body.append(script);
})().catch((why) => {
  document.getElementById("app").textContent = `This page cannot be unpacked here (${why}). Browsers since 2023 can: open it in a newer one.`;
});
