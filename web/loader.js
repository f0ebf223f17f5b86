// Unpacks the page's program, which then runs, and its data where they are packed: text in zlib in base64.
(async () => {
  const unpacked = async (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  };
  const data = document.getElementById("data");
  if (data.type === "text/plain") data.textContent = await unpacked("data");
  const script = document.createElement("script");
  script.textContent = await unpacked("program");
  document.body.append(script);
})().catch((why) => {
  document.getElementById("app").textContent = `This page cannot be unpacked here (${why}). Browsers since 2023 can: open it in a newer one.`;
});
