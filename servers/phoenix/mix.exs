defmodule Server.MixProject do
  use Mix.Project

  # Phoenix 1.8 wants Elixir 1.15; Debian 12 has 1.14. Bandit 1.12 fails on it.
  def project do
    [
      app: :server,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: true,
      deps: [
        dep(:bandit, "== 1.11.1"),
        dep(:castore, "== 1.0.15"),
        dep(:cowboy, "== 2.14.0"),
        dep(:cowboy_telemetry, "== 0.4.0"),
        dep(:cowlib, "== 2.16.0"),
        dep(:hpax, "== 1.0.3"),
        dep(:jason, "== 1.4.4"),
        dep(:mime, "== 2.0.7"),
        dep(:phoenix, "== 1.7.24"),
        dep(:phoenix_pubsub, "== 2.1.3"),
        dep(:phoenix_template, "== 1.0.4"),
        dep(:plug, "== 1.18.1"),
        dep(:plug_cowboy, "== 2.7.4"),
        dep(:plug_crypto, "== 2.1.1"),
        dep(:ranch, "== 2.2.0"),
        dep(:telemetry, "== 1.3.0"),
        dep(:thousand_island, "== 1.4.3"),
        dep(:websock, "== 0.5.3"),
        dep(:websock_adapter, "== 0.5.8")
      ]
    ]
  end

  def application, do: [mod: {Server, []}, extra_applications: [:logger]]

  # Where Hex cannot be reached, a folder can stand in for it.
  defp dep(app, version) do
    case System.get_env("PRONY_MIX_DEPS", "") do
      "" -> {app, version}
      dir -> {app, path: Path.join(dir, Atom.to_string(app)), override: true}
    end
  end
end
