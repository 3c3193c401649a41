package io.homeostat.controlplane;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;

/** Identity tokens in the form of the real ones, without a signature that anybody could check. */
public final class IdentityToken {
    private IdentityToken() {}

    /**
     * A token (RFC 7519, compact form).
     *
     * @param query of the request; its {@code audience} becomes the token's
     * @param serial makes each token another one
     */
    static String asked(String query, Instant expires, long serial) {
        String audience = "";
        for (String parameter : query.split("&", -1)) {
            if (parameter.startsWith("audience=")) {
                audience = parameter.substring("audience=".length());
            }
        }
        return of(audience, expires, serial);
    }

    /** A token for an audience. */
    public static String of(String audience, Instant expires, long serial) {
        String claims =
                "{\"aud\":\"" + audience + "\",\"exp\":" + expires.getEpochSecond() + ",\"jti\":\"" + serial + "\"}";
        return encode("{\"alg\":\"RS256\",\"typ\":\"JWT\"}") + "." + encode(claims) + "." + encode("unsigned");
    }

    private static String encode(String text) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
