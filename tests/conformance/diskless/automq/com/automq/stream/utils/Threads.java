package com.automq.stream.utils;

import java.util.concurrent.TimeUnit;

/** Runs nothing. */
public class Threads {
    public static final Threads COMMON_SCHEDULER = new Threads();

    public void scheduleWithFixedDelay(Runnable what, long first, long delay, TimeUnit unit) { }
}
