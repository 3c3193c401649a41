/** Guests of Kata Containers: how their agents are reached, and what they say. */
@NullMarked
package io.homeostat.observe.guest;

import org.jspecify.annotations.NullMarked;
