defmodule Server.Router do
  @moduledoc "The paths of the contract."
  use Phoenix.Router

  get("/", Server.Contract, :hello)
  get("/json", Server.Contract, :greeting)
  get("/sleep", Server.Contract, :sleep)
  get("/work", Server.Contract, :work)
  post("/echo", Server.Contract, :echo)
end
