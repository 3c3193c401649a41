package io.homeostat.desired.model;

import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.guest.SandboxSettings;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Inline;
import io.homeostat.desired.model.schema.Fields.NeverOver;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A machine with the agent of Kata Containers in it, which makes a place for containers of it. */
@Doc("A machine with a Kata guest agent in it, made ready for containers.")
@NeverOver("a Sandbox serves its containers for as long as it is declared")
public record SandboxSpec(
        @Inline SandboxSettings guest, @Inline Lifecycle lifecycle) implements WorkloadSpec {
    private static final int HASH_DIGITS = 12;

    /** By identity: each look asks for it several times. */
    private static final LoadingCache<SandboxSpec, String> HASHES =
            CacheBuilder.newBuilder().weakKeys().build(CacheLoader.from(SandboxSpec::hash));

    /** Of what takes a new boot: its network, which does not, is no part of it. */
    @Override
    public String revision() {
        return "h" + HASHES.getUnchecked(this);
    }

    @Override
    public @Nullable Source source() {
        return null;
    }

    @Override
    public String exclusive() {
        return "spec.endpoint: " + guest.agent();
    }

    private String hash() {
        String all = String.join(
                "\u0000",
                List.of(
                        guest.endpoint(),
                        String.join("\u0000", guest.parts()),
                        guest.policy() == null ? "" : guest.policy().file()));
        return Hashing.sha256()
                .hashString(all, StandardCharsets.UTF_8)
                .toString()
                .substring(0, HASH_DIGITS);
    }

    @Override
    public String toString() {
        return "SandboxSpec[" + revision() + " at " + guest.endpoint() + "]";
    }
}
