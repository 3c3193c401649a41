package io.homeostat.reconcile.command.diagnostics;

import com.google.common.base.Splitter;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.secrets.SecretMask;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.jspecify.annotations.Nullable;

/**
 * The agent's configuration as it may be shown: what holds, with every default, without comments. Nothing of an invalid file is shown:
 * nobody knows what in it is secret.
 *
 * @param config null when the file is not valid
 * @param text for the archive
 */
public record RedactedConfig(@Nullable AgentConfig config, String text) {
    private static final int MOST_BYTES = 1 << 20;

    /** Reads a file and teaches the mask its secrets. */
    public static RedactedConfig of(ConfigFile file, SecretMask mask) {
        if (!Files.exists(file.path())) {
            AgentConfig defaults = AgentConfigReader.defaults();
            return new RedactedConfig(defaults, DocumentCodec.toJson(defaults) + "\n");
        }
        AgentConfig config = AgentConfigReader.read(file.path()).config();
        if (config == null) {
            learnAll(file, mask);
            return new RedactedConfig(null, file.path() + " is not valid, see doctor.txt\n");
        }
        AgentConfig.ControlPlane plane = config.sources().controlPlane();
        if (plane != null) {
            learnUser(plane.endpoint(), mask);
        }
        learnUser(config.metrics().listen(), mask);
        return new RedactedConfig(config, DocumentCodec.toJson(config) + "\n");
    }

    private static void learnUser(String address, SecretMask mask) {
        int at = address.lastIndexOf('@');
        if (at > 0) {
            mask.learn(address.substring(0, at));
            mask.learn(address.substring(address.indexOf(':') + 1, Math.max(at, address.indexOf(':') + 1)));
        }
    }

    /** What is wrong with a file is said in messages that quote it. */
    private static void learnAll(ConfigFile file, SecretMask mask) {
        try {
            if (Files.size(file.path()) <= MOST_BYTES) {
                String text = new String(Files.readAllBytes(file.path()), StandardCharsets.UTF_8);
                for (String line : Splitter.on('\n').split(text)) {
                    int value = line.indexOf(':') + 1;
                    mask.learn(line.substring(value).strip());
                    Splitter.onPattern("[\\s,\"'{}\\[\\]]+")
                            .omitEmptyStrings()
                            .split(line.substring(value))
                            .forEach(mask::learn);
                }
            }
        } catch (IOException e) {
            // Then no message quotes it either.
            return;
        }
    }
}
