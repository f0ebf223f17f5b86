defmodule Server.MixProject do
  use Mix.Project

  def project do
    [
      app: :server,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: true,
      deps: [
        dep(:cowboy, "== 2.14.0"),
        dep(:cowboy_telemetry, "== 0.4.0"),
        dep(:cowlib, "== 2.16.0"),
        dep(:jason, "== 1.4.4"),
        dep(:maru, "== 0.14.0-pre.1"),
        dep(:mime, "== 2.0.7"),
        dep(:plug, "== 1.18.1"),
        dep(:plug_cowboy, "== 2.7.4"),
        dep(:plug_crypto, "== 2.1.1"),
        dep(:ranch, "== 2.2.0"),
        dep(:telemetry, "== 1.3.0")
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
