package io.homeostat.reconcile.agent.api;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.Test;

class ConnectionLimitTest {
    private final ConnectionLimit limit = new ConnectionLimit(2);

    private EmbeddedChannel connect() {
        return new EmbeddedChannel(limit.handler());
    }

    @Test
    void oneTooManyTakesThePlaceOfTheOneThatHasBeenIdleForLongest() {
        EmbeddedChannel first = connect();
        EmbeddedChannel second = connect();
        EmbeddedChannel third = connect();

        assertFalse(first.isOpen());
        assertTrue(second.isOpen() && third.isOpen());
    }

    @Test
    void whatIsBeingServedStays() {
        EmbeddedChannel first = connect();
        limit.serving(first);
        EmbeddedChannel second = connect();
        EmbeddedChannel third = connect();

        assertTrue(first.isOpen() && third.isOpen());
        assertFalse(second.isOpen());

        limit.served(first);
        EmbeddedChannel fourth = connect();

        assertFalse(third.isOpen());
        assertTrue(first.isOpen() && fourth.isOpen());
    }

    @Test
    void whereAllAreServedOneMoreIsRefused() {
        EmbeddedChannel first = connect();
        EmbeddedChannel second = connect();
        limit.serving(first);
        limit.serving(second);

        assertFalse(connect().isOpen());
        assertTrue(first.isOpen() && second.isOpen());

        first.close();
        assertTrue(connect().isOpen());
    }
}
