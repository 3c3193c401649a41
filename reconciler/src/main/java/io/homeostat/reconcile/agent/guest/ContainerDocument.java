package io.homeostat.reconcile.agent.guest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.reconcile.command.output.Json;
import java.nio.file.Path;
import java.util.List;

/** The document that declares a container: a process that is the runtime's, in the foreground. Pure: always the same for the same one. */
final class ContainerDocument {
    /**
     * Runs a container once, whatever becomes of what is declared or of the machine, and ends with its exit status. Its standard input is a
     * pipe that stays open until a file says that nothing more comes, which SIGUSR1 has us look at. With a terminal, script(1) is there for
     * it, and takes no arguments for its command.
     */
    private static final String SCRIPT = """
            dir=$1 id=$2 boot=$3 terminal=$4 errors=$5
            shift 5
            trap 'told=1; [ -e "$dir/stdin.closed" ] && exec 3>&-' USR1
            [ "$(cat /proc/sys/kernel/random/boot_id)" = "$boot" ] || exit 137
            [ -e "$dir/exit" ] && exit "$(cat "$dir/exit")"
            mkdir "$dir/launched" 2>/dev/null || exit 137
            exec 3<>"$dir/stdin" 4<"$dir/stdin"
            set -- "$@" --log "$dir/runtime.log" run --keep --pid-file "$dir/pid" --bundle "$dir" "$id"
            if [ "$terminal" = true ]; then
                words=
                for word; do
                    n=$((n + 1))
                    export "RUNTIME_WORD_$n=$word"
                    words="$words \\"\\$RUNTIME_WORD_$n\\""
                done
                SHELL=/bin/sh script --quiet --flush --return --command "exec$words" /dev/null <&4 3>&- 4<&- &
            else
                "$@" <&4 2>>"$errors" 3>&- 4<&- &
            fi
            pid=$!
            exec 4<&-
            [ -e "$dir/stdin.closed" ] && exec 3>&-
            while :; do
                told=
                wait "$pid"
                code=$?
                # 128 and SIGUSR1: it may not have ended.
                [ "$told" ] && [ "$code" = 138 ] || break
            done
            echo "$code" >"$dir/exit.new" && mv "$dir/exit.new" "$dir/exit"
            exit "$code"
            """;

    private ContainerDocument() {}

    /**
     * JSON, which is YAML too. What is secret in a container stands in its bundle only.
     *
     * @param boot in which it may run, as the kernel names it
     * @param runtime the command line of the runtime, without its subcommand
     */
    static String of(HostedContainer container, String boot, Path errors, List<String> runtime) {
        ObjectNode document = Json.object().put("apiVersion", "homeostat.io/v1").put("kind", "Process");
        document.putObject("metadata").put("name", container.workload().name());
        ObjectNode spec = document.putObject("spec").put("install", "local").put("entryPoint", "/bin/sh");
        spec.putArray("arguments")
                .add("-c")
                .add(SCRIPT)
                .add("container")
                .add(container.directory().toString())
                .add(container.id())
                .add(boot)
                .add(Boolean.toString(container.hasTerminal()))
                .add(errors.toString())
                .addAll(Json.texts(runtime));
        spec.put("workingDirectory", "/");
        // How it ends is told whoever has asked for it, who decides.
        spec.putObject("restart").put("policy", "never");
        spec.putObject("start").put("attempts", 1);
        // By then its container has been ended.
        spec.putObject("stop").put("timeout", "5s").put("signal", "SIGKILL");
        return document.toString();
    }
}
