defmodule Server.V1.MixProject do
  use Mix.Project

  def project do
    [
      app: :server,
      version: "0.1.0",
      language: :erlang,
      deps: [dep(:cowboy, "== 1.1.2"), dep(:cowlib, "== 1.0.2"), dep(:ranch, "== 1.3.2")]
    ]
  end

  def application, do: [mod: {:server, []}, extra_applications: [:kernel, :stdlib]]

  # Where Hex cannot be reached, a folder can stand in for it: its folder v1 for these.
  defp dep(app, version) do
    case System.get_env("PRONY_MIX_DEPS", "") do
      "" -> {app, version}
      dir -> {app, path: Path.join([dir, "v1", Atom.to_string(app)]), override: true}
    end
  end
end
