defmodule Server.Errors do
  @moduledoc "What is sent for a path that no route has."
  def render(template, _), do: %{error: Phoenix.Controller.status_message_from_template(template)}
end
