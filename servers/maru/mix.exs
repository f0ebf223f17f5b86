defmodule Server.MixProject do
  use Mix.Project

  # Maru is 0.14.0-pre.1, from its repository: no checksum of the package at Hex is known from anywhere else.
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
        dep(:maru, git: "https://github.com/elixir-maru/maru.git", ref: "1cfcb2427985c13c367ba99d9c0c48067de0c753"),
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
  defp dep(app, from) do
    case System.get_env("PRONY_MIX_DEPS", "") do
      "" -> {app, from}
      dir -> {app, path: Path.join(dir, Atom.to_string(app)), override: true}
    end
  end
end
