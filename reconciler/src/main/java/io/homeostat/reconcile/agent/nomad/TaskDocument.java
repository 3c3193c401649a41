package io.homeostat.reconcile.agent.nomad;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.proto.nomad.driver.LinuxResources;
import io.homeostat.proto.nomad.driver.Resources;
import io.homeostat.proto.nomad.driver.TaskConfig;
import io.homeostat.reconcile.agent.nomad.TaskSettings.ProbeSettings;
import io.homeostat.reconcile.command.FrontEnd;
import io.homeostat.reconcile.command.output.Json;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** The document that declares a task. Pure: always the same for the same task. */
final class TaskDocument {
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    /** What JSON takes as it is, and YAML only escaped, or as the end of a line. */
    private static final Pattern NOT_IN_YAML = Pattern.compile("[\\x7f-\\x9f\\u2028\\u2029\\ufeff\\ufffe\\uffff]");

    private static final int DIGITS = 16;
    private static final long MEBIBYTE = 1L << 20;
    private static final double PERCENT = 100;

    private TaskDocument() {}

    /** Its workload: named after the task, for people, and after its whole id, which no other one has. */
    static WorkloadId workload(TaskConfig task, boolean plugin) {
        return workload(task.getId(), plugin);
    }

    static WorkloadId workload(String taskId, boolean plugin) {
        String[] parts = taskId.split("/", -1);
        return FrontEnd.NOMAD_DRIVER.workload(
                plugin ? "plugin" : "process", parts.length > 1 ? parts[1] : parts[0], taskId);
    }

    static Path directory(TaskConfig task) {
        return Path.of(task.getAllocDir(), task.getName());
    }

    /** The variables that it is to have. What can't be declared is left out. */
    static Map<String, String> variables(TaskConfig task, TaskSettings settings) {
        Map<String, String> variables = new TreeMap<>(task.getEnvMap());
        variables.putAll(task.getDeviceEnvMap());
        variables.putAll(settings.env());
        variables.keySet().removeIf(name -> !isVariable(name));
        return variables;
    }

    /** Whether a variable can be declared; others are left out. */
    static boolean isVariable(String name) {
        return VARIABLE.matcher(name).matches();
    }

    /**
     * JSON, which is YAML too. Has secrets in it.
     *
     * @param stopTimeout how long a stop may take
     * @param stopSignal one that a declaration may have
     */
    static String of(TaskConfig task, TaskSettings settings, Duration stopTimeout, String stopSignal) {
        ObjectNode document = Json.object()
                .put("apiVersion", "homeostat.io/v1")
                .put("kind", settings.plugin() ? "Plugin" : "Process");
        document.putObject("metadata")
                .put("name", workload(task, settings.plugin()).name());
        ObjectNode spec = document.putObject("spec");
        Path directory = directory(task);
        if (settings.url().isEmpty()) {
            spec.put("install", "local")
                    .put("entryPoint", directory.resolve(settings.entryPoint()).toString());
        } else {
            spec.put(
                            "revision",
                            settings.sha256()
                                    .substring(
                                            0,
                                            Math.min(DIGITS, settings.sha256().length())))
                    .put("entryPoint", settings.entryPoint());
            spec.putObject("source").put("url", settings.url()).put("sha256", settings.sha256());
        }
        spec.set("arguments", Json.texts(settings.arguments()));
        ObjectNode env = spec.putObject("env");
        variables(task, settings).forEach(env::put);
        if (!task.getUser().isEmpty()) {
            spec.put("user", task.getUser());
        }
        spec.put("workingDirectory", directory.toString());
        limits(spec, task.getResources(), settings.cpuHardLimit());
        // How it ends by itself is Nomad's business, unless the job says otherwise.
        spec.putObject("restart").put("policy", settings.restart() ? "onFailure" : "never");
        if (!settings.restart()) {
            spec.putObject("start").put("attempts", 1);
        }
        spec.putObject("stop")
                .put("timeout", Math.max(1, stopTimeout.toMillis()) + "ms")
                .put("signal", stopSignal);
        ProbeSettings probe = settings.probe();
        if (probe != null) {
            probe(spec.putObject("probe"), probe);
        }
        if (!settings.config().isEmpty()) {
            spec.putObject("config").put("string", settings.config());
        }
        return NOT_IN_YAML
                .matcher(document.toString())
                .replaceAll(found -> String.format(
                        Locale.ROOT, "\\\\u%04x", (int) found.group().charAt(0)));
    }

    private static void limits(ObjectNode spec, Resources resources, boolean cpuHardLimit) {
        LinuxResources linux = resources.getLinuxResources();
        long memory = linux.getMemoryLimitBytes() > 0
                ? linux.getMemoryLimitBytes()
                : MEBIBYTE
                        * Math.max(
                                resources.getAllocatedResources().getMemory().getMemoryMb(),
                                resources.getAllocatedResources().getMemory().getMemoryMaxMb());
        ObjectNode limits = Json.object();
        if (memory > 0) {
            limits.put("memory", memory);
        }
        long percent = Math.round(linux.getPercentTicks() * Runtime.getRuntime().availableProcessors() * PERCENT);
        if (cpuHardLimit && percent > 0) {
            limits.put("cpu", percent + "%");
        }
        if (!limits.isEmpty()) {
            spec.set("limits", limits);
        }
    }

    private static void probe(ObjectNode json, ProbeSettings probe) {
        if (!probe.http().isEmpty()) {
            json.putObject("http").put("url", probe.http());
        } else if (!probe.tcp().isEmpty()) {
            json.putObject("tcp").put("address", probe.tcp());
        } else if (!probe.grpc().isEmpty()) {
            json.putObject("grpc").put("address", probe.grpc());
        } else {
            json.putObject("exec").set("command", Json.texts(probe.exec()));
        }
    }
}
