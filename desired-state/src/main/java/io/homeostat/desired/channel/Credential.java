package io.homeostat.desired.channel;

import io.homeostat.desired.model.AgentConfig.Identity;
import io.homeostat.desired.platform.IdentityToken;
import io.homeostat.desired.platform.MetadataClient;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;

/** With what the agent proves who it is. */
interface Credential {
    /** For whom tokens of the metadata server are. */
    String AUDIENCE = "agentcommunication.googleapis.com";

    /** Longer than any token; a larger file is not one. */
    int MAX_BYTES = 64 * 1024;

    /**
     * A token that is good now; empty when there is to be none.
     *
     * @throws IOException when there is none, why, and what to do; never with the token in it
     */
    String token() throws IOException, InterruptedException;

    /** The last token was not accepted. */
    default void refused() {}

    static Credential of(Identity identity, MetadataClient metadata, InstantSource clock) {
        return switch (identity) {
            case Identity.Known.NONE -> () -> "";
            case Identity.Known.METADATA -> {
                IdentityToken token = new IdentityToken(() -> metadata.identityToken(AUDIENCE), clock);
                yield new Credential() {
                    @Override
                    public String token() throws IOException, InterruptedException {
                        return checked(token.get(), "the metadata server's answer");
                    }

                    @Override
                    public void refused() {
                        token.refused();
                    }
                };
            }
            // Read each time: whoever renews it need not tell us.
            case Identity.TokenFile(String file) -> () -> checked(read(Path.of(file)), file);
        };
    }

    private static String read(Path file) throws IOException {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        } catch (IOException e) {
            throw new IOException(
                    "could not read the identity token in " + file + " (sources.controlPlane.identity): " + e, e);
        }
        return bytes.length > MAX_BYTES ? "" : new String(bytes, StandardCharsets.UTF_8).strip();
    }

    private static String checked(String token, String where) throws IOException {
        if (token.isEmpty() || !token.chars().allMatch(c -> c > ' ' && c <= '~')) {
            throw new IOException(where + " is not an identity token: one line of visible ASCII is wanted");
        }
        return token;
    }
}
