package io.homeostat.reconcile.agent.api;

import com.google.protobuf.ByteString;

/** Takes what a call brings, as it comes. */
public interface ApiReader {
    void standardOutput(ByteString bytes);

    void standardError(ByteString bytes);

    /** False as soon as the rest is of no interest to anybody. */
    boolean readsOn();
}
