package io.homeostat.desired.yaml;

import com.google.common.base.CharMatcher;
import com.google.common.base.Splitter;
import com.google.common.collect.ImmutableCollection;
import com.google.common.collect.ImmutableMap;
import java.util.Locale;
import java.util.Optional;

/** What is written here in place of a key that Kubernetes, Compose, Nomad, systemd, supervisor or pm2 have. */
final class ForeignKeys {
    /** Keys in lower case and without separators; paths that begin where the key was written. */
    private static final ImmutableMap<String, String> MEANT = ImmutableMap.<String, String>builder()
            .put("command", "entryPoint")
            .put("cmd", "entryPoint")
            .put("exec", "entryPoint")
            .put("execstart", "entryPoint")
            .put("script", "entryPoint")
            .put("args", "arguments")
            .put("environment", "env")
            .put("envfrom", "envFiles")
            .put("environmentfile", "envFiles")
            .put("envfile", "envFiles")
            .put("cwd", "workingDirectory")
            .put("workdir", "workingDirectory")
            .put("workingdir", "workingDirectory")
            .put("directory", "workingDirectory")
            .put("runas", "user")
            .put("runasuser", "user")
            .put("uid", "user")
            .put("gid", "group")
            .put("ulimits", "rlimits")
            .put("resources", "limits")
            .put("memory", "limits.memory")
            .put("memorymax", "limits.memory")
            .put("memlimit", "limits.memory")
            .put("maxmemoryrestart", "limits.memory")
            .put("cpu", "limits.cpu")
            .put("cpus", "limits.cpu")
            .put("cpuquota", "limits.cpu")
            .put("livenessprobe", "probe")
            .put("readinessprobe", "probe")
            .put("startupprobe", "probe")
            .put("healthcheck", "probe")
            .put("check", "probe")
            .put("autorestart", "restart.policy")
            .put("restartpolicy", "restart.policy")
            .put("killsignal", "stop.signal")
            .put("stopsignal", "stop.signal")
            .put("stopgraceperiod", "stop.timeout")
            .put("killtimeout", "stop.timeout")
            .put("terminationgraceperiodseconds", "stop.timeout")
            .put("cron", "execution.triggers.schedule")
            .put("schedule", "execution.triggers.schedule")
            .put("after", "dependsOn")
            .put("requires", "dependsOn")
            .put("artifact", "source")
            .put("url", "source.url")
            .put("image", "source.url")
            .put("version", "revision")
            .put("tag", "revision")
            .buildOrThrow();

    private ForeignKeys() {}

    /** Empty when nobody has that key, or what it means is not known here. */
    static Optional<String> meaning(String key, ImmutableCollection<String> known) {
        String plain = CharMatcher.anyOf("-_").removeFrom(key).toLowerCase(Locale.ROOT);
        return Optional.ofNullable(MEANT.get(plain)).filter(meant -> known.contains(first(meant)));
    }

    /** The key with which a path begins. */
    static String first(String path) {
        return Splitter.on('.').split(path).iterator().next();
    }
}
