package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableMap;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What this machine needs to reach the control plane that is configured. Connects with nobody: how that fares is in {@code status}. */
public final class ControlPlaneCheck {
    private static final String CHECK = "control plane";
    private static final String UNIX = "unix:";
    private static final int SOCKET = 0140000;
    private static final int FILE_TYPE = 0170000;

    private ControlPlaneCheck() {}

    public static Finding look(AgentConfig.ControlPlane configured) {
        for (Map.Entry<String, String> file : files(configured).entrySet()) {
            if (!Files.isReadable(Path.of(file.getValue()))) {
                return Finding.fail(
                        CHECK,
                        file.getKey() + ": " + file.getValue() + " is not there, or this user can't read it",
                        "put it there, or correct sources.controlPlane in agent.yaml");
            }
        }
        String endpoint = configured.endpoint();
        return endpoint.startsWith(UNIX)
                ? socket(Path.of(endpoint.substring(UNIX.length())))
                : Finding.ok(CHECK, endpoint + "; whether it answers is in status");
    }

    private static Finding socket(Path path) {
        try {
            int mode = (Integer) Files.getAttribute(path, "unix:mode");
            if ((mode & FILE_TYPE) != SOCKET) {
                return Finding.fail(
                        CHECK, path + " is no socket", "correct sources.controlPlane.endpoint in agent.yaml");
            }
            return Files.isWritable(path)
                    ? Finding.ok(CHECK, path + " is a socket that this user may connect to")
                    : Finding.fail(
                            CHECK,
                            "this user may not connect to " + path,
                            "run as another user, or let this one write to it");
        } catch (IOException e) {
            return Finding.warn(
                    CHECK,
                    path + " is not there, or can't be looked at: " + e.getMessage(),
                    "start the control plane, or correct sources.controlPlane.endpoint in agent.yaml");
        }
    }

    private static ImmutableMap<String, String> files(AgentConfig.ControlPlane configured) {
        Map<String, String> files = new LinkedHashMap<>();
        if (configured.identity() instanceof AgentConfig.Identity.TokenFile(String file)) {
            files.put("identity", file);
        }
        AgentConfig.Tls tls = configured.tls();
        if (tls != null) {
            put(files, "tls.ca", tls.ca());
            put(files, "tls.certificate", tls.certificate());
            put(files, "tls.key", tls.key());
        }
        return ImmutableMap.copyOf(files);
    }

    private static void put(Map<String, String> files, String key, @Nullable String file) {
        if (file != null) {
            files.put(key, file);
        }
    }
}
