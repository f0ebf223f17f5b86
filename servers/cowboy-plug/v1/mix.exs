defmodule Server.V1.MixProject do
  use Mix.Project

  # The same Plug as with Cowboy 2, so that only Cowboy differs.
  def project do
    [
      app: :server,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: true,
      elixirc_paths: ["lib", Path.expand("../common", __DIR__)],
      deps: [
        dep(:cowboy, "== 1.1.2", "v1"),
        dep(:cowlib, "== 1.0.2", "v1"),
        dep(:jason, "== 1.4.4"),
        dep(:mime, "== 2.0.7"),
        dep(:plug, "== 1.18.1"),
        dep(:plug_cowboy, "== 1.0.0", "v1"),
        dep(:plug_crypto, "== 2.1.1"),
        dep(:ranch, "== 1.3.2", "v1"),
        dep(:telemetry, "== 1.3.0")
      ]
    ]
  end

  def application, do: [mod: {Server, []}, extra_applications: [:logger]]

  # Where Hex cannot be reached, a folder can stand in for it: its folder v1 for what is older here.
  defp dep(app, version, folder \\ "") do
    case System.get_env("PRONY_MIX_DEPS", "") do
      "" -> {app, version}
      dir -> {app, path: Path.join([dir, folder, Atom.to_string(app)]), override: true}
    end
  end
end
