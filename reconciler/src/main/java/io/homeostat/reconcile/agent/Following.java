package io.homeostat.reconcile.agent;

/** Somebody follows passes, until this is closed. */
public interface Following extends AutoCloseable {
    @Override
    void close();
}
