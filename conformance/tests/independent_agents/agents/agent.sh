#!/bin/sh
# An agent for notes: it stores a name for its session and answers queries. It has no model.
exec jq --unbuffered -cnR --arg id "notes-$$" '
  def reply($command; $more):
    (if $command | has("id") then {id: $command.id} else {} end)
    + {type: "response", command: $command.type} + $more;
  def failed($command; $why): reply($command; {success: false, error: $why});
  def state($name): {
    model: null, thinkingLevel: "off", isStreaming: false, isCompacting: false, steeringMode: "one-at-a-time",
    followUpMode: "one-at-a-time", sessionId: $id, autoCompactionEnabled: false, messageCount: 0, pendingMessageCount: 0
  } + (if $name then {sessionName: $name} else {} end);
  def is_command: type == "object" and (.type | type) == "string";

  foreach inputs as $line ({name: null};
    .say = null
    | if $line | test("^[ \t\r]*$") then . else
        (try {is: ($line | ltrimstr("\ufeff") | fromjson)} catch {error: .}) as $read
        | if $read.error or ($read.is | is_command | not) then
            .say = {type: "response", command: "parse", success: false, error: "Failed to parse command: \($read.error // "no type")"}
          else
            $read.is as $command
            | if $command.type == "set_session_name" then
                if ($command.name | type) == "string" and ($command.name | test("\\S")) then
                  .name = $command.name | .say = reply($command; {success: true})
                else .say = failed($command; "Session name cannot be empty") end
              elif $command.type == "get_state" then .say = reply($command; {success: true, data: state(.name)})
              elif $command.type == "get_messages" then .say = reply($command; {success: true, data: {messages: []}})
              elif $command.type == "abort" then .say = reply($command; {success: true})
              else .say = failed($command; "Unknown command: \($command.type)") end
          end
      end;
    .say // empty)'
